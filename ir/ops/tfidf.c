/* TfIdfVectorizer: counts of n-grams in rows of integers. */

#include "ir/ops/common.h"

/* The n-grams of length `n` in the pool. */
glow_tfidf_grams
glow_tfidf_read(const glow_tfidfvectorizer *a, int64_t n)
{
    glow_tfidf_grams g = {.n = n};
    int64_t end;

    for (int64_t i = 0; i < n - 1 && i < a->ngram_counts.count; i++) {
        end = i + 1 < a->ngram_counts.count ? a->ngram_counts.at[i + 1]
                                            : a->pool.count;
        g.first += (end - a->ngram_counts.at[i]) / (i + 1);
    }
    if (n > a->ngram_counts.count)
        return g;
    end = n < a->ngram_counts.count ? a->ngram_counts.at[n] : a->pool.count;
    g.pool = a->pool.at + a->ngram_counts.at[n - 1];
    g.count = (end - a->ngram_counts.at[n - 1]) / n;
    return g;
}

/* The n-grams of each length follow each other in the pool and fill it. */
static bool
check_pool(const glow_node *n)
{
    const glow_tfidfvectorizer *a = n->attrs;
    int64_t grams = 0;

    for (int64_t i = 0; i < a->ngram_counts.count; i++) {
        int64_t from = a->ngram_counts.at[i];
        int64_t to = i + 1 < a->ngram_counts.count ? a->ngram_counts.at[i + 1]
                                                   : a->pool.count;

        if (from < 0 || to < from || to > a->pool.count ||
            (to - from) % (i + 1) != 0 || (i == 0 && from != 0))
            return glow_reject(n,
                               "NgramCounts gives %" PRId64 "-grams the part "
                               "%" PRId64 " to %" PRId64 " of a Pool of "
                               "%" PRId64,
                               i + 1, from, to, a->pool.count);
        grams += (to - from) / (i + 1);
    }
    if (grams != a->ngram_indexes.count)
        return glow_reject(n,
                           "Pool has %" PRId64 " n-grams, but NgramIndexes "
                           "%" PRId64 " entries",
                           grams, a->ngram_indexes.count);
    if (a->weights.count != 0 && a->weights.count != grams)
        return glow_reject(n,
                           "Pool has %" PRId64 " n-grams, but Weights "
                           "%" PRId64 " entries",
                           grams, a->weights.count);
    return true;
}

static bool
tfidfvectorizer_infer(const glow_node *n, glow_type out[])
{
    const glow_tfidfvectorizer *a = n->attrs;
    const glow_type *x = n->in[0]->type;
    glow_dims y = x->shape;
    int64_t most = -1;

    if (x->elem != GLOW_INDEX32 && x->elem != GLOW_INDEX64)
        return glow_reject(n,
                           "the elements of Input are %s, but must be index32 "
                           "or index64",
                           glow_kind_get(x->elem)->name);
    if (y.rank != 1 && y.rank != 2)
        return glow_reject(n, "the rank of Input is %d, but must be 1 or 2",
                           y.rank);
    if (a->min_gram_length < 1 || a->max_gram_length < a->min_gram_length ||
        a->max_gram_length > 64)
        return glow_reject(n,
                           "n-grams of %" PRId64 " to %" PRId64
                           " are asked for, but 1 to 64 can be",
                           a->min_gram_length, a->max_gram_length);
    if (a->max_skip_count < 0 || a->max_skip_count > INT32_MAX)
        return glow_reject(n,
                           "MaxSkipCount is %" PRId64 ", but must be 0 to %d",
                           a->max_skip_count, INT32_MAX);
    if (!check_pool(n) || !glow_check_stated(n, &out[0]))
        return false;
    if (!glow_is_float(out[0].elem))
        return glow_reject(n,
                           "the elements of Result are %s, but only float "
                           "kinds are made",
                           glow_kind_get(out[0].elem)->name);
    for (int64_t i = 0; i < a->ngram_indexes.count; i++) {
        if (a->ngram_indexes.at[i] < 0 || a->ngram_indexes.at[i] > INT32_MAX)
            return glow_reject(n,
                               "NgramIndexes[%" PRId64 "] is %" PRId64
                               ", but must be 0 to %d",
                               i, a->ngram_indexes.at[i], INT32_MAX);
        if (a->ngram_indexes.at[i] > most)
            most = a->ngram_indexes.at[i];
    }
    y.at[y.rank - 1] = most + 1;
    return glow_give(n, glow_type_of(out[0].elem, y), &out[0]);
}

/* The occurrences of n-gram `gram` in a row, with items `step` apart. */
static int64_t
occurrences(const glow_tensor *x, int64_t row, int64_t size,
            const int64_t *gram, int64_t n, int64_t step)
{
    int64_t count = 0;

    for (int64_t at = 0; at < size && (n - 1) * step < size - at; at++) {
        int64_t i = 0;

        while (i < n && glow_get_int(x, row + at + i * step) == gram[i])
            i++;
        count += i == n;
    }
    return count;
}

static double
score(const glow_tfidfvectorizer *a, int64_t gram, int64_t count)
{
    double weight = a->weights.count ? (double)a->weights.at[gram] : 1;

    if (a->mode == GLOW_TFIDF_TF)
        return (double)count;
    if (a->mode == GLOW_TFIDF_IDF)
        return count > 0 ? weight : 0;
    return weight * (double)count;
}

static bool
tfidfvectorizer_eval(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch)
{
    const glow_tfidfvectorizer *a = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[x.rank - 1], rows = x.rank == 2 ? x.at[0] : 1;
    int64_t width = out[0]->type->shape.at[x.rank - 1];
    double *y = GLOW_NEW_ARRAY(scratch, double, width);

    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < width; i++)
            y[i] = 0;
        for (int64_t l = a->min_gram_length; l <= a->max_gram_length; l++) {
            glow_tfidf_grams g = glow_tfidf_read(a, l);
            int64_t skips = l == 1 ? 0 : a->max_skip_count;

            for (int64_t i = 0; i < g.count; i++) {
                int64_t count = 0;

                for (int64_t s = 0; s <= skips && s < size; s++)
                    count += occurrences(in[0], row * size, size,
                                         g.pool + i * l, l, s + 1);
                y[a->ngram_indexes.at[g.first + i]] +=
                    score(a, g.first + i, count);
            }
        }
        glow_store(out[0], row * width, width, y);
    }
    return true;
}

static const char *const modes[] = {"tf", "idf", "tfidf", NULL};

const glow_op glow_op_tfidfvectorizer = {
    .name = "TfIdfVectorizer",
    .summary = "how often n-grams of a list occur in rows of integers",
    .in = {{"Input", GLOW_TENSOR, "[C], or rows [N, C]: index32 or index64"}},
    .out = {{"Result", GLOW_TENSOR,
             "of the float kind stated, [M] or [N, M]: M is 1 more than the "
             "greatest of "
             "NgramIndexes"}},
    .attrs = {GLOW_FIELD(glow_tfidfvectorizer, min_gram_length, GLOW_INT64,
                         "the length of the shortest n-grams that count"),
              GLOW_FIELD(glow_tfidfvectorizer, max_gram_length, GLOW_INT64,
                         "and of the longest"),
              GLOW_FIELD(glow_tfidfvectorizer, max_skip_count, GLOW_INT64,
                         "how many items at most lie between two of an n-gram"),
              GLOW_FIELD_ENUM(glow_tfidfvectorizer, mode, modes,
                              "tf: counts; idf: the weights of what occurs; "
                              "tfidf: counts times weights"),
              GLOW_FIELD(glow_tfidfvectorizer, ngram_counts, GLOW_INTS,
                         "where in Pool those of length 1, 2, .. begin"),
              GLOW_FIELD(glow_tfidfvectorizer, ngram_indexes, GLOW_INTS,
                         "the column of the result for each n-gram"),
              GLOW_FIELD(glow_tfidfvectorizer, pool, GLOW_INTS,
                         "the n-grams, one after the other"),
              GLOW_FIELD_DEFAULT(glow_tfidfvectorizer, weights, GLOW_FLOATS,
                                 "of each n-gram; `[]`: all 1")},
    .defaults = &(const glow_tfidfvectorizer){.mode = GLOW_TFIDF_TF},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = tfidfvectorizer_infer,
    .eval = tfidfvectorizer_eval,
    .doc = "All items of an n-gram are equally far from each other, 1 to "
           "MaxSkipCount + 1; each distance counts for itself, but that of a "
           "single item once.",
    .source = "ONNX TfIdfVectorizer",
};
