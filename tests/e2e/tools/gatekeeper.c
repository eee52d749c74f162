/* gatekeeper.c - makes an embedded store hang: goes inside its gate and stays.
 *
 *     gatekeeper GATE     prints "inside", stays until its input ends */
#include <stdio.h>

#include "os/gate.h"

int main(int argc, char **argv)
{
    const struct rights rights = {.mode = 0600}; /* of one that would be made */
    struct gate *gate;
    tenure_error err;
    if (argc != 2 || gate_open(argv[1], &rights, 0, &gate, &err) < 0 ||
        gate_enter(gate, SPAN(30000), &err) < 0) {
        fprintf(stderr, "gatekeeper: %s\n", argc == 2 ? err.text : "GATE is missing");
        return 1;
    }
    puts("inside");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    gate_leave(gate);
    gate_close(gate);
    return 0;
}
