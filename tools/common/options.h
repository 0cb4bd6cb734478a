/* Command lines; see tool.h for the tables. */

#ifndef GLOW_TOOLS_COMMON_OPTIONS_H
#define GLOW_TOOLS_COMMON_OPTIONS_H

#include "tools/common/tool.h"

/* The options of every tool, at offsets in `tool`. */
extern const tool_option tool_common_options[];

/* Parses t->argv; options in no table are appended to `pending`. */
void tool_parse(tool *t, tool_list *pending);
/* Passes pending options to the tool, after plugins are loaded. */
void tool_parse_pending(tool *t, const tool_list *pending);

/* The option of that name, without its dash; NULL if there is none. */
const tool_option *tool_find_option(const tool *t, const char *name);

#endif
