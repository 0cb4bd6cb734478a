/*
 * -list-onnx: the operators of ONNX that the importer supports, from its table
 * of rows.
 */

#ifndef GLOW_TRANSLATE_LIST_ONNX_H
#define GLOW_TRANSLATE_LIST_ONNX_H

/* Prints to standard output; `format` is "md", or "" for plain text. */
int list_onnx(const char *format);

#endif
