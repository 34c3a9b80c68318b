! The modules that programs use. pio has everything; the other modules are parts of pio, under the names of PIO's
! modules.

! All procedures for dimensions, variables and attributes.
module pio_nf
  use pio_of_file
  use pio_of_ncid
  use pio_of_vdesc
  use pio_of_varid
  use pio_of_fh
  use pio_of_text
  use pio_of_byte
  use pio_of_short
  use pio_of_int
  use pio_of_int64
  use pio_of_real
  use pio_of_double
  use pio_of_logical
  use pio_systems, only: pio_strerror, pio_set_log_level, pio_set_chunk_cache, pio_get_chunk_cache, pio_copy_att
  implicit none
  public
end module pio_nf

module piolib_mod
  use pio_systems
  use pio_nf, only: pio_set_fill
  implicit none
  public
end module piolib_mod

module piodarray
  use pio_nf, only: pio_read_darray, pio_write_darray
  use pio_systems, only: pio_set_buffer_size_limit
  implicit none
  public
end module piodarray

module pionfatt_mod
  use pio_nf, only: put_att => pio_put_att, get_att => pio_get_att, inq_var_fill => pio_inq_var_fill
  implicit none
  public
end module pionfatt_mod

module pionfput_mod
  use pio_nf, only: put_var => pio_put_var
  implicit none
  public
end module pionfput_mod

module pionfget_mod
  use pio_nf, only: get_var => pio_get_var
  implicit none
  public
end module pionfget_mod

! Copies variables between files.
module pio_nf_utils
  use pio_kinds, only: i8, r8
  use pio_types
  use pio_nf
  implicit none
  private
  public :: copy_pio_var

  interface copy_pio_var
    module procedure copy_line, copy_plane
  end interface

contains

  ! varsz is the number of numbers, or the length of each of strlength strings.
  subroutine copy_line(ifile, ofile, ivdesc, ovdesc, varsz, strlength, ierr)
    type(file_desc_t), intent(in) :: ifile, ofile
    type(var_desc_t), intent(in) :: ivdesc, ovdesc
    integer, intent(in) :: varsz
    integer, optional, intent(in) :: strlength
    integer, optional, intent(out) :: ierr
    character(len=varsz), allocatable :: strings(:)
    real(r8), allocatable :: reals(:)
    integer(i8), allocatable :: integers(:)
    integer :: xtype, n, rc
    n = 1
    if (present(strlength)) n = strlength
    rc = pio_inq_vartype(ifile, ivdesc, xtype)
    if (rc == PIO_noerr) then
      select case (xtype)
      case (PIO_char)
        allocate(strings(n))
        rc = pio_get_var(ifile, ivdesc, strings)
        if (rc == PIO_noerr) rc = pio_put_var(ofile, ovdesc, strings)
      case (PIO_real, PIO_double)
        allocate(reals(varsz))
        rc = pio_get_var(ifile, ivdesc, reals)
        if (rc == PIO_noerr) rc = pio_put_var(ofile, ovdesc, reals)
      case default
        allocate(integers(varsz))
        rc = pio_get_var(ifile, ivdesc, integers)
        if (rc == PIO_noerr) rc = pio_put_var(ofile, ovdesc, integers)
      end select
    end if
    if (present(ierr)) ierr = rc
  end subroutine copy_line

  subroutine copy_plane(ifile, ofile, ivdesc, ovdesc, varsz, ierr)
    type(file_desc_t), intent(in) :: ifile, ofile
    type(var_desc_t), intent(in) :: ivdesc, ovdesc
    integer, intent(in) :: varsz(:)
    integer, optional, intent(out) :: ierr
    integer :: xtype, rc
    rc = pio_inq_vartype(ifile, ivdesc, xtype)
    if (rc == PIO_noerr .and. xtype == PIO_char) then
      call copy_line(ifile, ofile, ivdesc, ovdesc, varsz(1), product(varsz(2:)), rc)
    else if (rc == PIO_noerr) then
      call copy_line(ifile, ofile, ivdesc, ovdesc, product(varsz), ierr=rc)
    end if
    if (present(ierr)) ierr = rc
  end subroutine copy_plane
end module pio_nf_utils

module pio
  use, intrinsic :: iso_c_binding
  use pio_kinds, only: pio_offset_kind
  use pio_types
  use pio_systems
  use pio_nf
  use ncint_mod
  implicit none
  public
end module pio
