/*
 * A picture of the losses as SVG: each step in grey, the mean over a window of a
 * fiftieth of the steps in blue, and the loss of the validation in red.  The scale of
 * losses is logarithmic where they span more than a factor of ten.
 */

#include <inttypes.h>
#include <math.h>

#include "glow/file.h"
#include "tools/glow-train/train.h"

enum {
    WIDTH = 800,
    HEIGHT = 480,
    LEFT = 70,
    RIGHT = 20,
    TOP = 46,
    BOTTOM = 50,
    MOST_POINTS = 2000, /* of a line */
    WINDOWS = 50,
};

typedef struct frame {
    glow_buf *b;
    double low, high; /* losses at the bottom and the top */
    bool is_log;
    int64_t steps;
} frame;

static double
x_of(const frame *f, double step)
{
    return (double)LEFT +
           (double)(WIDTH - LEFT - RIGHT) * step / (double)f->steps;
}

static double
y_of(const frame *f, double loss)
{
    double at = f->is_log
                    ? log(fmax(loss, f->low) / f->low) / log(f->high / f->low)
                    : (loss - f->low) / (f->high - f->low);

    return (double)(HEIGHT - BOTTOM) - (double)(HEIGHT - TOP - BOTTOM) * at;
}

static void
find_range(frame *f, const train *t)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < t->n_rows; i++) {
        const train_row *r = &t->rows[i];

        low = fmin(low, (double)r->loss);
        high = fmax(high, (double)r->loss);
        if (r->is_valid) {
            low = fmin(low, r->valid_loss);
            high = fmax(high, r->valid_loss);
        }
    }
    f->is_log = low > 0 && high > 10 * low;
    if (!f->is_log && low > 0)
        low = 0;
    if (high <= low)
        high = low + 1;
    f->low = low;
    f->high = high;
}

/* 1, 2 or 5 times a power of ten, at least `least`. */
static double
round_step(double least)
{
    double p = pow(10, floor(log10(least)));

    return p >= least       ? p
           : 2 * p >= least ? 2 * p
           : 5 * p >= least ? 5 * p
                            : 10 * p;
}

static void
put_tick_y(const frame *f, double loss)
{
    double y = y_of(f, loss);

    glow_buf_printf(f->b,
                    "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' "
                    "stroke='#e1e6eb'/>\n"
                    "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
                    LEFT, y, WIDTH - RIGHT, y, LEFT - 8, y + 4, loss);
}

static void
put_axes(const frame *f)
{
    double step = round_step((double)f->steps / 8.0);

    if (f->is_log) {
        for (double p = pow(10, floor(log10(f->low))); p <= f->high; p *= 10)
            for (int k = 1; k <= 5; k += k == 1 ? 1 : 3)
                if (k * p >= f->low && k * p <= f->high)
                    put_tick_y(f, k * p);
    } else {
        double by = round_step((f->high - f->low) / 6);

        for (double v = ceil(f->low / by) * by; v <= f->high; v += by)
            put_tick_y(f, fabs(v) < by / 2 ? 0 : v);
    }
    for (double v = 0; v <= (double)f->steps; v += step)
        glow_buf_printf(
            f->b,
            "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' "
            "stroke='#667'/>\n"
            "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n",
            x_of(f, v), HEIGHT - BOTTOM, x_of(f, v), HEIGHT - BOTTOM + 5,
            x_of(f, v), HEIGHT - BOTTOM + 20, v);
    glow_buf_printf(f->b,
                    "<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='#667'/>\n"
                    "<text x='%d' y='%d' text-anchor='middle'>step</text>\n",
                    LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM,
                    (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
}

/* A line through the means of `window` rows each. */
static void
put_line(const frame *f, const train *t, size_t window, const char *style)
{
    double sum = 0, steps = 0;
    size_t count = 0;

    glow_buf_printf(f->b, "<polyline fill='none' %s points='", style);
    for (size_t i = 0; i < t->n_rows; i++) {
        sum += (double)t->rows[i].loss;
        steps += (double)t->rows[i].step;
        count++;
        if (count < window && i + 1 < t->n_rows)
            continue;
        glow_buf_printf(f->b, "%.1f,%.1f ", x_of(f, steps / (double)count),
                        y_of(f, sum / (double)count));
        sum = steps = 0;
        count = 0;
    }
    glow_buf_puts(f->b, "'/>\n");
}

static void
put_valid(const frame *f, const train *t)
{
    glow_buf_puts(f->b, "<polyline fill='none' stroke='#c33' stroke-width='2' "
                        "points='");
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].is_valid)
            glow_buf_printf(f->b, "%.1f,%.1f ",
                            x_of(f, (double)t->rows[i].step),
                            y_of(f, t->rows[i].valid_loss));
    glow_buf_puts(f->b, "'/>\n");
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].is_valid)
            glow_buf_printf(f->b,
                            "<circle cx='%.1f' cy='%.1f' r='3' fill='#c33'/>\n",
                            x_of(f, (double)t->rows[i].step),
                            y_of(f, t->rows[i].valid_loss));
}

static void
put_legend(const frame *f, const train *t, size_t window)
{
    glow_buf_printf(f->b,
                    "<text x='%d' y='28' fill='#889'>loss of a step</text>\n"
                    "<text x='%d' y='28' fill='#26c'>mean over %zu</text>\n",
                    LEFT, LEFT + 130, window);
    if (t->values.valid.count > 0)
        glow_buf_printf(f->b,
                        "<text x='%d' y='28' fill='#c33'>validation</text>\n",
                        LEFT + 260);
}

bool
write_plot(train *t)
{
    glow_buf b = {0};
    frame f = {.b = &b};
    size_t window = t->n_rows / WINDOWS + 1, thin = t->n_rows / MOST_POINTS + 1;
    bool ok;

    if (!t->values.plot || t->n_rows == 0)
        return true;
    f.steps = t->rows[t->n_rows - 1].step;
    find_range(&f, t);
    glow_buf_printf(&b,
                    "<svg xmlns='http://www.w3.org/2000/svg' width='%d' "
                    "height='%d' viewBox='0 0 %d %d' font-family='sans-serif' "
                    "font-size='12' fill='#223'>\n"
                    "<rect width='%d' height='%d' fill='#fff'/>\n",
                    WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_axes(&f);
    put_line(&f, t, thin, "stroke='#bcc6d0' stroke-width='1'");
    put_line(&f, t, window, "stroke='#26c' stroke-width='2'");
    if (t->values.valid.count > 0)
        put_valid(&f, t);
    put_legend(&f, t, window);
    glow_buf_puts(&b, "</svg>\n");
    ok = glow_file_write(t->tool.ctx, t->values.plot, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}
