! Variables and attributes, with the same source for each form of arguments.
#define MODULE_OF_FORM pio_of_vdesc
#define FILE_TYPE type(file_desc_t)
#define FILE file
#define FH file%fh
#define VAR_TYPE type(var_desc_t)
#define VAR vdesc
#define ID vdesc%varid
#define VAR_MADE vdesc%ncid = file%fh
#include "pio_vars.inc"
#undef MODULE_OF_FORM
#undef VAR_TYPE
#undef VAR
#undef ID
#undef VAR_MADE

#define MODULE_OF_FORM pio_of_varid
#define VAR_TYPE integer
#define VAR varid
#define ID varid
#define VAR_MADE
#include "pio_vars.inc"
#undef MODULE_OF_FORM
#undef FILE_TYPE
#undef FILE
#undef FH

#define MODULE_OF_FORM pio_of_fh
#define FILE_TYPE integer
#define FILE ncid
#define FH ncid
#include "pio_vars.inc"
