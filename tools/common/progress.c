/*
 * A line on a terminal with the current step, for long runs.
 *
 * An interval timer draws it, so that a single long step shows its seconds as
 * well as many short ones.  The handler calls nothing but write; the text is
 * double-buffered.
 */

#define _XOPEN_SOURCE 700 /* setitimer */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/common/tool.h"

#define PATIENCE 2 /* seconds before the first line */
#define WIDTH 100

static struct {
    char text[2][WIDTH + 1];
    volatile sig_atomic_t at; /* the text to draw */
    volatile sig_atomic_t seconds;
    volatile sig_atomic_t shown;
    bool runs;
    pid_t owner; /* a child of this process inherits the state, not the timer */
} line;

static const char wipe[] = "\r\x1b[K";

static void
draw(void)
{
    const char *text = line.text[line.at];
    char out[sizeof wipe + WIDTH + 16];
    char digits[12];
    size_t n = sizeof wipe - 1, count = 0;
    int seconds = line.seconds;

    memcpy(out, wipe, n);
    do
        digits[count++] = (char)('0' + seconds % 10);
    while ((seconds /= 10) > 0);
    while (count > 0)
        out[n++] = digits[--count];
    memcpy(out + n, " s: ", 4);
    n += 4;
    for (size_t i = 0; text[i] && i < WIDTH; i++)
        out[n++] = text[i];
    line.shown = 1;
    if (write(STDERR_FILENO, out, n) < 0)
        line.shown = 0;
}

static void
tick(int signal)
{
    int error = errno;

    (void)signal;
    if (line.seconds == 0)
        line.seconds = PATIENCE - 1;
    line.seconds = line.seconds + 1;
    draw();
    errno = error;
}

void
tool_progress_begin(tool *t)
{
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval every = {.it_interval = {.tv_sec = 1},
                              .it_value = {.tv_sec = PATIENCE}};

    if (line.runs || t->common.verbose || !isatty(STDERR_FILENO))
        return;
    sigemptyset(&a.sa_mask);
    line.runs = sigaction(SIGALRM, &a, NULL) == 0 &&
                setitimer(ITIMER_REAL, &every, NULL) == 0;
    line.owner = getpid();
}

void
tool_progress(const char *fmt, ...)
{
    int next = !line.at;
    va_list ap;

    if (!line.runs)
        return;
    va_start(ap, fmt);
    vsnprintf(line.text[next], sizeof line.text[next], fmt, ap);
    va_end(ap);
    for (char *c = line.text[next]; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    line.at = next;
}

void
tool_progress_wipe(void)
{
    if (line.shown && line.owner == getpid()) {
        line.shown = 0;
        if (write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0)
            return;
    }
}

void
tool_progress_end(void)
{
    struct itimerval never = {0};

    if (!line.runs || line.owner != getpid())
        return;
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
    tool_progress_wipe();
    line.runs = false;
    line.seconds = 0;
}
