/*
 * Greedy non-maximum suppression: boxes in order of falling scores, each of
 * which is selected if it overlaps no box selected before.  The scratch holds
 * the selected boxes of the current class contiguously, in the form in which
 * they are compared.
 */

#include "codegen/cpu/c/sort.h"

typedef struct nms_box {
    double low[2], high[2], area;
} nms_box;

INLINE nms_box
nms_box_at(const void *boxes, int64_t kind, int64_t i, bool center)
{
    nms_box b;

    for (int d = 0; d < 2; d++) {
        double v = get_real(boxes, kind, 4 * i + d);
        double w = get_real(boxes, kind, 4 * i + d + 2);
        double a = center ? v - w / 2 : v, c = center ? v + w / 2 : w;

        b.low[d] = a < c ? a : c;
        b.high[d] = a < c ? c : a;
    }
    b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
    return b;
}

INLINE bool
nms_overlap(const nms_box *a, const nms_box *b, double share)
{
    double both = 1;

    for (int d = 0; d < 2; d++) {
        double low = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
        double high = a->high[d] < b->high[d] ? a->high[d] : b->high[d];

        if (!(high > low))
            return false;
        both *= high - low;
    }
    return a->area > 0 && b->area > 0 &&
           both / (a->area + b->area - both) > share;
}

INLINE bool
nms_before(const rows *r, int64_t i, int64_t j)
{
    return is_before(r->data, r->kind, r->first + i, r->first + j, false);
}

/* Sorts the numbers of the boxes above the threshold by falling scores. */
INLINE int64_t *
nms_sort(const void *scores, int64_t kind, int64_t row, int64_t count,
         double threshold, int64_t *from, int64_t *to, int64_t *sorted)
{
    const rows r = {scores, kind, row, 1};
    int64_t n = 0;

    for (int64_t i = 0; i < count; i++)
        if (get_real(scores, kind, row + i) > threshold)
            from[n++] = i;
    *sorted = n;
    return sort_rows(&r, nms_before, from, to, n);
}

/*
 * `scratch`: 2 * `count` numbers, then the selected boxes of one class, at most
 * `count`.
 */
int64_t
glow_c_nms(int64_t *out, int64_t *selected, const void *boxes,
           const void *scores, int64_t kind, int64_t batches, int64_t classes,
           int64_t count, int64_t rows, int64_t most, double iou,
           double threshold, int64_t center, int64_t *scratch)
{
    nms_box *kept = (nms_box *)(scratch + 2 * count);
    int64_t found = 0;

    for (int64_t r = 0; r < batches * classes; r++) {
        int64_t first = found, n, box = r / classes * count;
        int64_t *list = nms_sort(scores, kind, r * count, count, threshold,
                                 scratch, scratch + count, &n);

        for (int64_t k = 0; k < n && found - first < most; k++) {
            nms_box b = nms_box_at(boxes, kind, box + list[k], center != 0);
            bool drop = false;

            for (int64_t j = 0; j < found - first && !drop; j++)
                drop = nms_overlap(&kept[j], &b, iou);
            if (drop)
                continue;
            kept[found - first] = b;
            out[3 * found] = r / classes;
            out[3 * found + 1] = r % classes;
            out[3 * found + 2] = list[k];
            found++;
        }
    }
    for (int64_t k = 3 * found; k < 3 * rows; k++)
        out[k] = 0;
    *selected = found;
    return 0;
}
