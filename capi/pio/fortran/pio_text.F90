#include "pio_names.inc"
! Text consists of strings of equal length. Shorter strings are padded with NULs
! in the file.
module pio_of_text
  use, intrinsic :: iso_c_binding
  use pio_kinds
  use pio_types
  use pio_c
  implicit none
  private
  public :: pio_put_var, pio_get_var, pio_put_att, pio_get_att

  interface pio_put_var
    module procedure put_varid, put_varid1, put_varida, put_vdesc, put_vdesc1, put_vdesca
  end interface
  interface pio_get_var
    module procedure get_varid, get_varid1, get_varida, get_vdesc, get_vdesc1, get_vdesca
  end interface
  interface pio_put_att
    module procedure put_att_fh, put_att_varid, put_att_vdesc
  end interface
  interface pio_get_att
    module procedure get_att_fh, get_att_varid, get_att_vdesc
  end interface
  integer, parameter :: wide = PIO_OFFSET_KIND

contains

  integer function put_varid(file, varid, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), contiguous, target, intent(in) :: VALUE_ARG(..)
    ierr = blobio_pio_put_text(file%fh, varid, 0, [0], 0, [0], FLAVOUR, len(VALUE_ARG, kind=wide), &
      elements(shape(VALUE_ARG, wide)), &
      c_loc(VALUE_ARG))
  end function put_varid

  integer function put_varid1(file, varid, INDEX_ARG, STRING_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, INDEX_ARG(:)
    character(len=*), target, intent(in) :: STRING_ARG
    ierr = blobio_pio_put_text(file%fh, varid, size(INDEX_ARG), INDEX_ARG, 0, [0], FLAVOUR, len(STRING_ARG, kind=wide), 1_wide, &
      c_loc(STRING_ARG))
  end function put_varid1

  integer function put_varida(file, varid, start, COUNT_ARG, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, start(:), COUNT_ARG(:)
    character(len=*), contiguous, target, intent(in) :: VALUE_ARG(..)
    ierr = blobio_pio_put_text(file%fh, varid, size(start), start, size(COUNT_ARG), COUNT_ARG, FLAVOUR, &
      len(VALUE_ARG, kind=wide), elements(shape(VALUE_ARG, wide)), c_loc(VALUE_ARG))
  end function put_varida

  integer function put_vdesc(file, vdesc, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    character(len=*), contiguous, target, intent(in) :: VALUE_ARG(..)
    ierr = put_varid(file, vdesc%varid, VALUE_ARG)
  end function put_vdesc

  integer function put_vdesc1(file, vdesc, INDEX_ARG, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(in) :: INDEX_ARG(:)
    character(len=*), target, intent(in) :: VALUE_ARG
    ierr = put_varid1(file, vdesc%varid, INDEX_ARG, VALUE_ARG)
  end function put_vdesc1

  integer function put_vdesca(file, vdesc, start, COUNT_ARG, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(in) :: start(:), COUNT_ARG(:)
    character(len=*), contiguous, target, intent(in) :: VALUE_ARG(..)
    ierr = put_varida(file, vdesc%varid, start, COUNT_ARG, VALUE_ARG)
  end function put_vdesca

  integer function get_varid(file, varid, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), contiguous, target, intent(inout) :: VALUE_ARG(..)
    ierr = blobio_pio_get_text(file%fh, varid, 0, [0], 0, [0], len(VALUE_ARG, kind=wide), &
      elements(shape(VALUE_ARG, wide)), c_loc(VALUE_ARG))
  end function get_varid

  integer function get_varid1(file, varid, INDEX_ARG, STRING_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, INDEX_ARG(:)
    character(len=*), target, intent(inout) :: STRING_ARG
    ierr = blobio_pio_get_text(file%fh, varid, size(INDEX_ARG), INDEX_ARG, 0, [0], len(STRING_ARG, kind=wide), 1_wide, c_loc(STRING_ARG))
  end function get_varid1

  integer function get_varida(file, varid, start, COUNT_ARG, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, start(:), COUNT_ARG(:)
    character(len=*), contiguous, target, intent(inout) :: VALUE_ARG(..)
    ierr = blobio_pio_get_text(file%fh, varid, size(start), start, size(COUNT_ARG), COUNT_ARG, &
      len(VALUE_ARG, kind=wide), elements(shape(VALUE_ARG, wide)), c_loc(VALUE_ARG))
  end function get_varida

  integer function get_vdesc(file, vdesc, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    character(len=*), contiguous, target, intent(inout) :: VALUE_ARG(..)
    ierr = get_varid(file, vdesc%varid, VALUE_ARG)
  end function get_vdesc

  integer function get_vdesc1(file, vdesc, INDEX_ARG, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(in) :: INDEX_ARG(:)
    character(len=*), target, intent(inout) :: VALUE_ARG
    ierr = get_varid1(file, vdesc%varid, INDEX_ARG, VALUE_ARG)
  end function get_vdesc1

  integer function get_vdesca(file, vdesc, start, COUNT_ARG, VALUE_ARG) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(in) :: start(:), COUNT_ARG(:)
    character(len=*), contiguous, target, intent(inout) :: VALUE_ARG(..)
    ierr = get_varida(file, vdesc%varid, start, COUNT_ARG, VALUE_ARG)
  end function get_vdesca

  ! A single string is written without its trailing blanks, several strings with
  ! them.
  integer function put_att_fh(fh, varid, attname, attval) result(ierr)
    integer, intent(in) :: fh, varid
    character(len=*), intent(in) :: attname
    character(len=*), contiguous, target, intent(in) :: attval(..)
    integer(wide) :: n
    n = len(attval, kind=wide) * elements(shape(attval, wide))
    select rank (attval)
    rank (0)
      n = len_trim(attval, kind=wide)
    end select
    ierr = blobio_pio_put_att(fh, varid, text_of_c(attname), PIO_char, n, c_loc(attval))
  end function put_att_fh

  integer function put_att_varid(file, varid, attname, attval) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: attname
    character(len=*), contiguous, target, intent(in) :: attval(..)
    ierr = put_att_fh(file%fh, varid, attname, attval)
  end function put_att_varid

  integer function put_att_vdesc(file, vdesc, attname, attval) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    character(len=*), intent(in) :: attname
    character(len=*), contiguous, target, intent(in) :: attval(..)
    ierr = put_att_fh(file%fh, vdesc%varid, attname, attval)
  end function put_att_vdesc

  integer function get_att_fh(fh, varid, attname, attval) result(ierr)
    integer, intent(in) :: fh, varid
    character(len=*), intent(in) :: attname
    character(len=*), contiguous, target, intent(inout) :: attval(..)
    ierr = blobio_pio_get_att_text(fh, varid, text_of_c(attname), len(attval, kind=wide), &
      elements(shape(attval, wide)), c_loc(attval))
  end function get_att_fh

  integer function get_att_varid(file, varid, attname, attval) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: attname
    character(len=*), contiguous, target, intent(inout) :: attval(..)
    ierr = get_att_fh(file%fh, varid, attname, attval)
  end function get_att_varid

  integer function get_att_vdesc(file, vdesc, attname, attval) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    character(len=*), intent(in) :: attname
    character(len=*), contiguous, target, intent(inout) :: attval(..)
    ierr = get_att_fh(file%fh, vdesc%varid, attname, attval)
  end function get_att_vdesc
end module pio_of_text
