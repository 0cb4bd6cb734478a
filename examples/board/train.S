/* Pictures in flash. */
    .section .rodata
    .globl images, labels, labels_end
    .balign 4
images:
    .incbin "images"
labels:
    .incbin "labels"
labels_end:
    .section .note.GNU-stack, "", %progbits
