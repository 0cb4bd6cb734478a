/*
 * Importers of plugins: the translation of ONNX nodes in the domain of a plugin.
 *
 * A plugin sees the current node alone, through functions that report errors (with
 * the model, the node and the attribute) and return values with which it is safe
 * to continue.  An attribute that the importer does not read is an error, as it
 * would be lost.
 */

#ifndef GLOW_IMPORT_H
#define GLOW_IMPORT_H

#include "glow/build.h"

GLOW_BEGIN

typedef struct glow_import glow_import;

/* Reading: of the host; called through the functions below. */
typedef struct glow_import_reader {
    uint32_t size; /* of this struct: later hosts have more */
    bool (*has)(glow_import *n, const char *name);
    int64_t (*integer)(glow_import *n, const char *name, int64_t otherwise,
                       int64_t least, int64_t most);
    float (*number)(glow_import *n, const char *name, float otherwise);
    const char *(*string)(glow_import *n, const char *name,
                          const char *otherwise);
    glow_ints (*integers)(glow_import *n, const char *name);
    glow_floats (*numbers)(glow_import *n, const char *name);
    const glow_tensor *(*known)(glow_import *n, int i);
    bool (*refuse)(glow_import *n, const char *why);
} glow_import_reader;

/* A node of a model. */
struct glow_import {
    const char *domain, *op;
    int version;           /* of the domain in the model; 0: not said */
    glow_builder *builder; /* nodes go here; named and located after this one */
    glow_value *const
        *in; /* NULL: omitted; trailing omitted ones do not count */
    int n_in;
    glow_value **out; /* to be set */
    int n_out;
    const glow_import_reader *reader;
};

/* One operator of a domain in a range of its versions. */
typedef struct glow_importer {
    const char *domain;          /* "com.acme"; not that of ONNX's own */
    const char *op;              /* "Scale" */
    int since, until;            /* versions; until 0: to the last */
    bool (*run)(glow_import *n); /* false after a report */
} glow_importer;

static inline bool
glow_import_has(glow_import *n, const char *name)
{
    return n->reader->has(n, name);
}

/* An INT within least to most; `otherwise` if there is none. */
static inline int64_t
glow_import_int(glow_import *n, const char *name, int64_t otherwise,
                int64_t least, int64_t most)
{
    return n->reader->integer(n, name, otherwise, least, most);
}

static inline float
glow_import_float(glow_import *n, const char *name, float otherwise)
{
    return n->reader->number(n, name, otherwise);
}

static inline const char *
glow_import_string(glow_import *n, const char *name, const char *otherwise)
{
    return n->reader->string(n, name, otherwise);
}

/* Lists; empty if there is none. */
static inline glow_ints
glow_import_ints(glow_import *n, const char *name)
{
    return n->reader->integers(n, name);
}

static inline glow_floats
glow_import_floats(glow_import *n, const char *name)
{
    return n->reader->numbers(n, name);
}

/* The elements of operand i, which must be a constant; NULL after a report. */
static inline const glow_tensor *
glow_import_known(glow_import *n, int i)
{
    return n->reader->known(n, i);
}

/* Reports E0711 at the node; returns false. */
static inline bool
glow_import_refuse(glow_import *n, const char *why)
{
    return n->reader->refuse(n, why);
}

GLOW_END

#endif
