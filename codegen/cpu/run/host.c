/*
 * Checks whether this machine can run code for a target.
 *
 * LLVM's C interface lists the features of the host; those of a named processor are
 * asked for one by one (emit/feature.h).  Features that are requested by name are
 * looked up.
 */

#include <string.h>
#if defined(__linux__) && defined(__aarch64__)
#include <sys/prctl.h>
#endif

#include "codegen/cpu/emit/feature.h"
#include "codegen/cpu/run/host.h"
#include "codegen/llvm/llvm.h"

/*
 * AMX is not in the table, because it is requested at run time: see matrix.h.
 */
static const struct {
    const char *arch, *feature;
} features[] = {
    {"x86_64", "sse3"},       {"x86_64", "ssse3"},
    {"x86_64", "sse4.1"},     {"x86_64", "sse4.2"},
    {"x86_64", "popcnt"},     {"x86_64", "avx"},
    {"x86_64", "f16c"},       {"x86_64", "fma"},
    {"x86_64", "avx2"},       {"x86_64", "bmi"},
    {"x86_64", "bmi2"},       {"x86_64", "lzcnt"},
    {"x86_64", "movbe"},      {"x86_64", "avx512f"},
    {"x86_64", "avx512bw"},   {"x86_64", "avx512cd"},
    {"x86_64", "avx512dq"},   {"x86_64", "avx512vl"},
    {"x86_64", "avx512ifma"}, {"x86_64", "avx512vbmi"},
    {"x86_64", "avx512vnni"}, {"x86_64", "avx512vbmi2"},
    {"x86_64", "avx512bf16"}, {"x86_64", "avx512bitalg"},
    {"x86_64", "avx512fp16"}, {"x86_64", "avx512vpopcntdq"},
    {"x86_64", "avxvnni"},    {"x86_64", "avxvnniint8"},
    {"x86_64", "gfni"},       {"x86_64", "fma4"},
    {"x86_64", "xop"},        {"x86_64", "tbm"},
    {"aarch64", "sve"},       {"aarch64", "sve2"},
    {"aarch64", "dotprod"},   {"aarch64", "i8mm"},
    {"aarch64", "bf16"},
};

/* A feature of the target's named processor that is not in `here`, or NULL. */
static const char *
lacks_of_name(glow_arena *a, const cpu_target *t, const char *here)
{
    enum { COUNT = sizeof(features) / sizeof(*features) };
    const char *asked[COUNT] = {NULL};
    bool has[COUNT];

    for (int i = 0; i < COUNT; i++) {
        const char *arch = features[i].arch;

        if (strncmp(t->triple, arch, strlen(arch)) == 0 &&
            !glow_cpu_has_word(here, features[i].feature, false))
            asked[i] = features[i].feature;
    }
    glow_cg_features(a, t, asked, COUNT, has);
    for (int i = 0; i < COUNT; i++)
        if (has[i])
            return asked[i];
    return NULL;
}

/* A feature requested by "+word" that is not in `here`, or NULL. */
static const char *
lacks_of_words(glow_arena *a, const cpu_target *t, const char *here)
{
    for (const char *at = t->features; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        const char *word = glow_arena_strndup(a, at, size);

        if (*word == '+' && strncmp(word, "+amx", 4) != 0 &&
            glow_cpu_has_word(t->features, word + 1, false) &&
            !glow_cpu_has_word(here, word + 1, true))
            return word + 1;
        at += size;
    }
    return NULL;
}

/* Bytes of the SVE registers of this machine, or 0. */
static int
sve_bytes(void)
{
#if defined(__linux__) && defined(__aarch64__)
    int got = prctl(PR_SVE_GET_VL);

    return got < 0 ? 0 : got & PR_SVE_VL_LEN_MASK;
#else
    return 0;
#endif
}

const char *
glow_cpu_lacks(glow_arena *a, const cpu_target *t)
{
    char *here = LLVMGetHostCPUFeatures();
    const char *lacks = lacks_of_words(a, t, here);

    if (!lacks && t->sve_bytes && t->sve_bytes != sve_bytes())
        lacks = glow_arena_printf(a, "SVE of %d bits", 8 * t->sve_bytes);
    if (!lacks)
        lacks = lacks_of_name(a, t, here);
    LLVMDisposeMessage(here);
    return lacks;
}
