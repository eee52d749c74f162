/* gatekeeper.c - goes inside the gate of an embedded store.
 *
 *     gatekeeper GATE        makes it hang: prints "inside", stays until its input ends
 *     gatekeeper GATE full   leaves no room for young sessions: the next one is a commit */
#include <stdio.h>
#include <string.h>

#include "os/gate.h"

/* With sessions of nobody. */
static int fill(struct gate *gate)
{
    struct gate_page *p = gate_page(gate);
    for (int i = 0; i < GATE_YOUNG; i++)
        p->young[i] = UINT64_MAX / 2 - (unsigned)i;
    gate_close(gate);
    return 0;
}

int main(int argc, char **argv)
{
    const struct rights rights = {.mode = 0600}; /* of one that would be made */
    struct gate *gate;
    tenure_error err;
    if (argc < 2 || gate_open(argv[1], &rights, 0, &gate, &err) < 0 ||
        gate_enter(gate, SPAN(30000), &err) < 0) {
        fprintf(stderr, "gatekeeper: %s\n", argc >= 2 ? err.text : "GATE is missing");
        return 1;
    }
    if (argc > 2 && strcmp(argv[2], "full") == 0)
        return fill(gate);
    puts("inside");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    gate_leave(gate);
    gate_close(gate);
    return 0;
}
