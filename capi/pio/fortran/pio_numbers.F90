! The same source for each kind of number.
#include "pio_names.inc"
#define ZERO 0
#define MODULE_OF_KIND pio_of_byte
#define KIND integer(c_int8_t)
#define MEM PIO_byte
#include "pio_numbers.inc"
#undef MODULE_OF_KIND
#undef KIND
#undef MEM

#define MODULE_OF_KIND pio_of_short
#define KIND integer(c_int16_t)
#define MEM PIO_short
#include "pio_numbers.inc"
#undef MODULE_OF_KIND
#undef KIND
#undef MEM

#define MODULE_OF_KIND pio_of_int
#define KIND integer(i4)
#define MEM PIO_int
#include "pio_numbers.inc"
#undef MODULE_OF_KIND
#undef KIND
#undef MEM

#define MODULE_OF_KIND pio_of_int64
#define KIND integer(i8)
#define MEM PIO_int64
#include "pio_numbers.inc"
#undef MODULE_OF_KIND
#undef KIND
#undef MEM

#define MODULE_OF_KIND pio_of_real
#define KIND real(r4)
#define MEM PIO_real
#include "pio_numbers.inc"
#undef MODULE_OF_KIND
#undef KIND
#undef MEM

#define MODULE_OF_KIND pio_of_double
#define KIND real(r8)
#define MEM PIO_double
#include "pio_numbers.inc"
#undef MODULE_OF_KIND
#undef KIND
#undef MEM

! For gfortran, which stores logicals as the integers 1 and 0.
#define MODULE_OF_KIND pio_of_logical
#define KIND logical
#define MEM PIO_int
#undef ZERO
#define ZERO .false.
#include "pio_numbers.inc"
