/* sim/faults.h - what befalls the world, as far as the plan of the run allows it. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

/* Starts the chain of faults; it ends when the run becomes quiet. */
void faults_begin(void);

/* Takes back what was done: cables are plugged in again.  Pauses and outages end by themselves;
 * returns when the last of them is over, in microseconds of the world. */
long long faults_end(void);

#endif
