/*
 * Counting n-grams.
 */

#include "tools/glow-translate/import/import.h"

static const char *const modes[] = {"TF", "IDF", "TFIDF", NULL};

/* The result type: one column more than the greatest index. */
static const glow_type *
result_type(import_node *n, const glow_tfidfvectorizer *a)
{
    glow_dims y = import_shape(import_in(n, 0));
    int64_t most = -1;

    for (int64_t i = 0; i < a->ngram_indexes.count; i++)
        if (a->ngram_indexes.at[i] > most && a->ngram_indexes.at[i] < INT32_MAX)
            most = a->ngram_indexes.at[i];
    if (y.rank > 0)
        y.at[y.rank - 1] = most + 1;
    return import_type(n, GLOW_FLOAT, y);
}

static bool
tfidf_vectorizer(import_node *n)
{
    glow_tfidfvectorizer a = {
        .min_gram_length = import_int(n, "min_gram_length", 1, 1, 64),
        .max_gram_length = import_int(n, "max_gram_length", 1, 1, 64),
        .max_skip_count = import_int(n, "max_skip_count", 0, 0, INT32_MAX),
        .mode = import_word(n, "mode", "TF", modes),
        .ngram_counts = import_ints(n, "ngram_counts"),
        .ngram_indexes = import_ints(n, "ngram_indexes"),
        .pool = import_ints(n, "pool_int64s"),
        .weights = import_floats(n, "weights"),
    };

    if (import_has(n, "pool_strings"))
        return import_refuse(n, "E0705",
                             "pool_strings is not supported: there are no "
                             "tensors of strings");
    return import_operands(n, 1, 1) &&
           import_done(n, import_build(n, &glow_op_tfidfvectorizer,
                                       result_type(n, &a),
                                       GLOW_IN(import_in(n, 0)), &a));
}

const import_row import_tfidf_rows[] = {
    {"TfIdfVectorizer", 9, 0, tfidf_vectorizer, &glow_op_tfidfvectorizer,
     "int32 and int64, to float; pool_strings is refused"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
