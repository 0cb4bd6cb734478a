/* The weights and the images in flash. */
    .section .rodata
    .globl weights, images, labels, labels_end
    .balign 64
weights:
    .incbin "digits.weights"
    .balign 4
images:
    .incbin "images"
labels:
    .incbin "labels"
labels_end:
