/*
 * The table of diagnostic ids, a file of errors/ for each family.
 *
 * The number of an id is never reused.  To take a new one, add an entry to the
 * file of its family, in order of the numbers, and a test whose text has the id
 * in brackets, as in
 *
 *     // expected-error@+1 [E0203] {{names axis 7}}
 *
 * (test/lit/ir/errors-tested.test fails without it).  One entry per block of
 * lines, so that two branches that both add one do not collide.
 *
 * An explanation says the cause, shows a small wrong input, indented by four,
 * and says how to correct it.  The summary is a line, lower case, no full stop.
 */

#include <string.h>

#include "glow/diag.h"

static const glow_diag_info table[] = {
#include "errors/01_text.inc"
#include "errors/02_graphs.inc"
#include "errors/03_programs.inc"
#include "errors/04_passes.inc"
#include "errors/05_running.inc"
#include "errors/06_files.inc"
#include "errors/07_models.inc"
#include "errors/08_backends.inc"
#include "errors/09_command_line.inc"
#include "errors/10_runtime.inc"
#include "errors/11_jobs.inc"
    {NULL, NULL, NULL},
};

const glow_diag_info *
glow_diag_find(const char *id)
{
    for (const glow_diag_info *d = table; d->id; d++)
        if (strcmp(d->id, id) == 0)
            return d;
    return NULL;
}

const glow_diag_info *
glow_diag_all(void)
{
    return table;
}
