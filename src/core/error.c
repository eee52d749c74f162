/* core/error.c - the one error table (include/tenure/error.h), read in three ways. */
#include <tenure/error.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT tenure_error_class tenure_class(int code)
{
    if (code >= 0)
        return TENURE_CLASS_NONE;
    switch (code) {
#define TENURE_X(name, value, class, sentence)                                                     \
    case value:                                                                                    \
        return TENURE_CLASS_##class;
        TENURE_ERROR_TABLE(TENURE_X)
#undef TENURE_X
    }
    return TENURE_CLASS_BROKEN;
}

EXPORT const char *tenure_error_sentence(int code)
{
    switch (code) {
#define TENURE_X(name, value, class, sentence)                                                     \
    case value:                                                                                    \
        return sentence;
        TENURE_ERROR_TABLE(TENURE_X)
#undef TENURE_X
    }
    return code >= 0 ? "no error" : "unknown error";
}

EXPORT const char *tenure_error_name(int code)
{
    switch (code) {
#define TENURE_X(name, value, class, sentence)                                                     \
    case value:                                                                                    \
        return #name;
        TENURE_ERROR_TABLE(TENURE_X)
#undef TENURE_X
    }
    return code >= 0 ? "OK" : "UNKNOWN";
}
