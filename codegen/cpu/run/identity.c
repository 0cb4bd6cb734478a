/*
 * Identity of this build of the code generator: the GNU build-id note of the
 * ELF object that contains this function.
 */

#define _GNU_SOURCE /* dl_iterate_phdr */

#include "codegen/cpu/run/identity.h"

#ifdef __linux__

#include <link.h>
#include <string.h>

typedef struct search {
    glow_arena *arena;
    uintptr_t here;
    const char *found;
} search;

static bool
holds(const struct dl_phdr_info *o, uintptr_t at)
{
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && at - o->dlpi_addr - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

static const char *
to_hex(glow_arena *a, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = glow_arena_alloc(a, 2 * size + 1);

    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * size] = '\0';
    return hex;
}

/* The build id among the notes of a segment, or NULL. */
static const char *
read_notes(glow_arena *a, const unsigned char *at, size_t size)
{
    ElfW(Nhdr) n;

    while (size >= sizeof n) {
        size_t name, rest;

        memcpy(&n, at, sizeof n);
        name = ((size_t)n.n_namesz + 3) & ~(size_t)3;
        rest = ((size_t)n.n_descsz + 3) & ~(size_t)3;
        if (name > size - sizeof n || rest > size - sizeof n - name)
            return NULL;
        at += sizeof n;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
            memcmp(at, "GNU", 4) == 0)
            return to_hex(a, at + name, n.n_descsz);
        at += name + rest;
        size -= sizeof n + name + rest;
    }
    return NULL;
}

static int
visit(struct dl_phdr_info *o, size_t size, void *user)
{
    search *s = user;

    (void)size;
    if (!holds(o, s->here))
        return 0;
    for (int i = 0; i < o->dlpi_phnum && !s->found; i++)
        if (o->dlpi_phdr[i].p_type == PT_NOTE)
            s->found = read_notes(
                s->arena,
                (const unsigned char *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr),
                o->dlpi_phdr[i].p_memsz);
    return 1;
}

const char *
glow_cpu_identity(glow_arena *a)
{
    search s = {.arena = a, .here = (uintptr_t)&glow_cpu_identity};

    dl_iterate_phdr(visit, &s);
    return s.found;
}

#else

const char *
glow_cpu_identity(glow_arena *a)
{
    (void)a;
    return NULL;
}

#endif
