/* http/library.h - libmicrohttpd, which the checker serves with, and libcurl, which asks it; each
 * loaded when it is first needed (os/library.h), since most commands need neither. */
#ifndef HTTP_LIBRARY_H
#define HTTP_LIBRARY_H

#define CURL_DISABLE_TYPECHECK /* its macros are for calls by name */
#include <curl/curl.h>
#include <microhttpd.h>
#include <tenure/error.h>

#define MHD_CALLS(X)                                                                               \
    X(MHD_add_response_header) X(MHD_create_response_from_buffer) X(MHD_destroy_response)          \
    X(MHD_get_connection_info) X(MHD_get_connection_values_n) X(MHD_queue_response)                \
    X(MHD_set_connection_option) X(MHD_start_daemon) X(MHD_stop_daemon)

#define CURL_CALLS(X)                                                                              \
    X(curl_easy_cleanup) X(curl_easy_getinfo) X(curl_easy_init) X(curl_easy_perform)               \
    X(curl_easy_setopt) X(curl_easy_strerror) X(curl_global_init) X(curl_slist_append)             \
    X(curl_slist_free_all)

struct mhd {
#define MHD_MEMBER(name) __typeof__(name) *name;
    MHD_CALLS(MHD_MEMBER)
#undef MHD_MEMBER
};

struct curl {
#define CURL_MEMBER(name) __typeof__(name) *name;
    CURL_CALLS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* The calls; each table is written once, by its loader. */
extern struct mhd mhd;
extern struct curl curl;

/* 0, or a code with *err filled.  Any thread. */
int mhd_load(tenure_error *err);
int curl_load(tenure_error *err);

#endif
