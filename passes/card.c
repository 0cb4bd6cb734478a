/* The card of a pass: binary search in the table of head comments, by name. */

#include "passes/card.h"

#include <string.h>

const char *
glow_pass_card(const glow_pass *p)
{
    size_t from = 0, to = 0;

    while (glow_pass_texts[to].name)
        to++;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(p->name, glow_pass_texts[middle].name);

        if (order == 0)
            return glow_pass_texts[middle].text;
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}
