/* Awkward sizes, and kinds, for tests of whole operators. */

#ifndef GLOW_TEST_CPU_KINDS_H
#define GLOW_TEST_CPU_KINDS_H

#include "cpu.h"

static const int64_t sizes[] = {1, 2, 3, 7, 9, 17, 33, 64};

static const glow_kind floats[] = {GLOW_FLOAT, GLOW_FLOAT16, GLOW_BFLOAT16,
                                   GLOW_FLOAT64};
static const glow_kind numbers[] = {GLOW_FLOAT,   GLOW_FLOAT16, GLOW_BFLOAT16,
                                    GLOW_FLOAT64, GLOW_UINDEX8, GLOW_INDEX32,
                                    GLOW_INDEX64, GLOW_INT8,    GLOW_INT16,
                                    GLOW_UINT16,  GLOW_UINT32,  GLOW_UINT64};

static inline const char *
label(fixture *t, const glow_op *op, glow_kind k, int64_t size)
{
    return glow_arena_printf(t->arena, "%s of %lld %s", op->name,
                             (long long)size, glow_kind_get(k)->name);
}

#endif
