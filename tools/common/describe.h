/*
 * Descriptions of passes, operators, errors, pipelines and backends, from their
 * constants; as text, Markdown for docs/, and JSON.
 */

#ifndef GLOW_TOOLS_COMMON_DESCRIBE_H
#define GLOW_TOOLS_COMMON_DESCRIBE_H

#include <jansson.h>

#include "tools/common/tool.h"

/* Describes one item, in Markdown. */
void describe_pass(glow_buf *b, const glow_pass *p);
void describe_op(glow_buf *b, glow_context *ctx, const glow_op *op);
void describe_error(glow_buf *b, const glow_diag_info *d);
void describe_pipeline(glow_buf *b, const glow_named_pipeline *p);
void describe_backend(glow_buf *b, const glow_backend *p);

json_t *pass_json(const glow_pass *p);
json_t *op_json(const glow_op *op);
json_t *backend_json(const glow_backend *p);

/* -help and -help=NAME, -explain=ID. */
int tool_help(tool *t, const char *name);
int tool_explain(tool *t, const char *id);

/* Lists of all items: format "" (a line each), "md" or "json". */
int list_passes(tool *t, const char *format);
int list_ops(tool *t, const char *format);
int list_errors(tool *t, const char *format);
int list_targets(tool *t, const char *format);
int list_plugins(tool *t, const char *format);

#endif
