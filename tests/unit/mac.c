/* A message authentication code is the one of the standard, and of one message under one key. */
#include "os/mac.h"

#include <string.h>

#include "tap.h"

/* RFC 4231, 4.3: zeros behind a key that is shorter than a block change nothing. */
static void the_code_of_the_standard_comes_out(void)
{
    static const uint8_t key[MAC_KEY_BYTES] = "Jefe";
    static const uint8_t expected[MAC_BYTES] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e,
                                                0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7};
    const char *message = "what do ya want for nothing?";
    uint8_t code[MAC_BYTES];
    CHECK(mac_make(key, message, strlen(message), code));
    CHECK(memcmp(code, expected, sizeof code) == 0);
    CHECK(mac_is(key, message, strlen(message), code));
}

static void another_message_or_key_has_another_code(void)
{
    uint8_t key[MAC_KEY_BYTES] = {7}, code[MAC_BYTES];
    CHECK(mac_make(key, "held", 4, code) && mac_is(key, "held", 4, code));
    CHECK(!mac_is(key, "heId", 4, code) && !mac_is(key, "held", 3, code));
    code[MAC_BYTES - 1] ^= 1;
    CHECK(!mac_is(key, "held", 4, code));
    code[MAC_BYTES - 1] ^= 1;
    key[MAC_KEY_BYTES - 1] = 1;
    CHECK(!mac_is(key, "held", 4, code));
}

int main(void)
{
    return TAP_RUN(TAP(the_code_of_the_standard_comes_out),
                   TAP(another_message_or_key_has_another_code));
}
