/* The functions between start code and a program. */

#ifndef START_H
#define START_H

#include <stddef.h>
#include <stdint.h>

/* Prints a string. */
void put(const char *text);
/* Ends the program. */
void end(int status) __attribute__((noreturn));

int main(void);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

#endif
