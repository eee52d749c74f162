/* http/report.h - what a checker tells about its guards: to tenure guard check, and to Prometheus.
 */
#ifndef HTTP_REPORT_H
#define HTTP_REPORT_H

#include "http/marks.h"
#include "target/target.h"

/* The guards as JSON, MARKS_ALL or one; freed by the caller, NULL without memory. */
char *report_json(struct marks *m, struct text name, size_t *ret_found);

/* Reads that back: calls fn for each guard.  0, or TENURE_FOREIGN. */
int report_read(const char *json, target_finding_fn *fn, void *arg, tenure_error *err);

/* The metrics, in Prometheus's text format; freed by the caller, NULL without memory. */
char *report_metrics(struct marks *m);

#endif
