/*
 * Numbers as text: the fewest digits that read back as the same number.  Nine
 * digits always do for binary32 and seventeen for binary64 (IEEE 754-2019,
 * section 5.12.2), so the search is short.
 */

#include "ir/base/float.h"
#include "glow/base.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 17, POSITIONAL_FROM = -5, POSITIONAL_TO = 15 };

typedef struct decimal {
    char digits[MOST_DIGITS + 1]; /* without trailing zeros */
    int count;
    int exponent; /* of the first digit */
    bool negative;
} decimal;

/* Reads `%.*e` output into digits and an exponent. */
static decimal
take_apart(const char *text)
{
    decimal d = {.count = 0};

    if (*text == '-') {
        d.negative = true;
        text++;
    }
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && d.count < MOST_DIGITS)
            d.digits[d.count++] = *text;
    if (*text == 'e')
        d.exponent = (int)strtol(text + 1, NULL, 10);
    while (d.count > 1 && d.digits[d.count - 1] == '0')
        d.count--;
    return d;
}

static void
put_scientific(glow_buf *b, const decimal *d)
{
    glow_buf_putc(b, d->digits[0]);
    if (d->count > 1)
        glow_buf_putc(b, '.');
    glow_buf_add(b, d->digits + 1, (size_t)d->count - 1);
    glow_buf_printf(b, "e%s%d", d->exponent < 0 ? "" : "+", d->exponent);
}

static void
put_fraction(glow_buf *b, const decimal *d)
{
    glow_buf_puts(b, "0.");
    for (int i = -1; i > d->exponent; i--)
        glow_buf_putc(b, '0');
    glow_buf_add(b, d->digits, (size_t)d->count);
}

static void
put_decimal(glow_buf *b, const decimal *d)
{
    int whole = d->exponent + 1; /* digits before the point */

    if (d->negative)
        glow_buf_putc(b, '-');
    if (d->exponent < POSITIONAL_FROM || d->exponent > POSITIONAL_TO) {
        put_scientific(b, d);
        return;
    }
    if (d->exponent < 0) {
        put_fraction(b, d);
        return;
    }
    for (int i = 0; i < whole; i++)
        glow_buf_putc(b, i < d->count ? d->digits[i] : '0');
    glow_buf_putc(b, '.');
    if (d->count > whole)
        glow_buf_add(b, d->digits + whole, (size_t)(d->count - whole));
    else
        glow_buf_putc(b, '0');
}

/* The shortest digits of `v` that read back as `v`, as float if `narrow`. */
static decimal
shortest(double v, bool narrow)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t old = uselocale(c);
    char text[48] = "";

    for (int digits = 1; digits <= MOST_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, v);
        if (narrow ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    uselocale(old);
    freelocale(c);
    return take_apart(text);
}

void
glow_buf_float(glow_buf *b, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    if (isnan(v) && bits == 0x7fc00000u) {
        glow_buf_puts(b, "nan");
    } else if (isnan(v)) {
        glow_buf_printf(b, "nan(0x%08x)", bits);
    } else if (isinf(v)) {
        glow_buf_puts(b, v < 0 ? "-inf" : "inf");
    } else {
        decimal d = shortest((double)v, true);

        put_decimal(b, &d);
    }
}

void
glow_buf_double(glow_buf *b, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    if (isnan(v) && bits == 0x7ff8000000000000u) {
        glow_buf_puts(b, "nan");
    } else if (isnan(v)) {
        glow_buf_printf(b, "nan(0x%016llx)", (unsigned long long)bits);
    } else if (isinf(v)) {
        glow_buf_puts(b, v < 0 ? "-inf" : "inf");
    } else {
        decimal d = shortest(v, false);

        put_decimal(b, &d);
    }
}

/* A NaN of 32 bits has its payload in the upper bits of one of 64. */
double
glow_widen(float f)
{
    uint32_t bits;
    uint64_t wide;
    double d;

    if (!isnan(f))
        return (double)f;
    memcpy(&bits, &f, sizeof bits);
    wide = (uint64_t)(bits >> 31) << 63 | (uint64_t)0x7ff << 52 |
           (uint64_t)(bits & 0x7fffff) << 29;
    memcpy(&d, &wide, sizeof d);
    return d;
}

float
glow_narrow(double d)
{
    uint64_t wide;
    uint32_t bits;
    float f;

    if (!isnan(d))
        return (float)d;
    memcpy(&wide, &d, sizeof wide);
    bits = (uint32_t)(wide >> 63) << 31 | 0x7f800000u |
           ((uint32_t)(wide >> 29) & 0x7fffff);
    if ((bits & 0x7fffff) == 0)
        bits |= 0x400000; /* its payload was in the bits that are lost */
    memcpy(&f, &bits, sizeof f);
    return f;
}
