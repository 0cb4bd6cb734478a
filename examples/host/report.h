/* Reports of a context, on the standard error output. */

#ifndef REPORT_H
#define REPORT_H

#include <glow/diag.h>

/* Prints each report of `ctx` from now on. */
void print_reports(glow_context *ctx);

#endif
