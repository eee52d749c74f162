/* http/request.h - one request to a checker, from its line and headers to its answer.
 *
 *     any method  /check/NAME        a proxy asks whether a request may go on
 *     GET         /guards[/NAME]     the guards, as JSON
 *     PUT         /guards/NAME       installs one; ?strict=1
 *     DELETE      /guards/NAME       takes it out
 *     POST        /announce          moves a mark to the token of the header Tenure-Token
 *     GET         /metrics, /health
 *
 * Whoever changes something shows the secret.  The guard of a check is in the path, which the proxy
 * writes, never the client's choice: else a token of another guard would open this one.  The name
 * ends with the path or at "//", behind which proxies put the path of the original request.
 *
 * nginx passes 2xx on, 401 and 403 back to the client, and turns all else into 500; Envoy takes
 * only 200 for a yes, and 5xx for trouble of the checker.  So:
 *     200  admit, raise          403  stale, newer
 *     401  missing, invalid      503  broken (no such guard), unavailable (the mark was not kept)
 * and the header Tenure-Verdict has the word.  What operators asked has Tenure-Result: "OK", or the
 * name of an error of tenure/error.h; the body is its sentence. */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <microhttpd.h>

#include "http/marks.h"
#include "http/secret.h"

#define HTTP_RESULT_HEADER "Tenure-Result"

struct checker {
    struct marks *marks;
    struct secret secret;
};

/* The MHD_AccessHandlerCallback; `arg` is the struct checker. */
enum MHD_Result request_handle(void *arg, struct MHD_Connection *connection, const char *path,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_bytes, void **state);

#endif
