/*
 * Reading a file of one protocol buffer message, binary or text.
 */

#ifndef GLOW_TRANSLATE_PROTO_H
#define GLOW_TRANSLATE_PROTO_H

#include <protobuf-c/protobuf-c.h>

#include "glow/file.h"

/*
 * Reads the message of type `d` in `path`, which is text if its name ends in
 * .onnxtxt, .pbtxt, .prototxt or .textproto.  All of the message lives until
 * the last reference to `*owner` goes; the first is the caller's.  NULL after a
 * report.
 */
const ProtobufCMessage *proto_read(glow_context *ctx, const char *path,
                                   const ProtobufCMessageDescriptor *d,
                                   glow_data **owner);

/*
 * Reads the text form of a message into `a`.  Positions of errors (E0702) point
 * into `source`.
 */
ProtobufCMessage *proto_parse_text(glow_context *ctx, glow_arena *a,
                                   const glow_source *source,
                                   const ProtobufCMessageDescriptor *d);

#endif
