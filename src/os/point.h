/* os/point.h - named points in the code at which a test can hold one process.
 *
 * A race that matters has a test that forces both of its orders (tests/e2e/scenarios/
 * test_races.py), which needs a place between two steps where a process waits for the test.
 * Without -Dpoints=true a point is nothing at all: no code, no name in the binary.
 *
 * With it, a process whose environment has TENURE_POINTS="NAME=FIFO,NAME=FIFO" that comes to
 * NAME opens FIFO for reading and waits for a byte or the end.  So a test that can open the FIFO
 * for writing knows that the process is there, and lets it go by closing it.  Where there is
 * no such file the process goes on: a test that removes it once it is open catches one, once.
 *
 * Never: in a product.  A process that waits at a point keeps what it holds.
 * Any thread; allocates nothing, so that a guardian may come to one. */
#ifndef OS_POINT_H
#define OS_POINT_H

#ifdef POINTS_BUILT
void point_reach(const char *name);
#define POINT(name) point_reach(name)
#else
#define POINT(name) ((void)0)
#endif

#endif
