! Helper procedures of PIO that programs call, and PIO's functions for netCDF, which
! always return errors.
module pio_support
  use, intrinsic :: iso_c_binding
  use pio_kinds
  use pio_systems, only: pio_writedof, pio_readdof, pio_write_nc_dof, pio_read_nc_dof
  use pio_c, only: text_of_c
  implicit none
  private
  public :: pio_writedof, pio_readdof, pio_write_nc_dof, pio_read_nc_dof
  public :: piodie, checkmpireturn, replace_c_null

  logical, public :: Debug = .false., DebugIO = .false., DebugAsync = .false. ! these have no effect

  interface
    subroutine blobio_pio_die(text, mpi_code) bind(c)
      import
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int), value :: mpi_code
    end subroutine blobio_pio_die
  end interface

contains

  ! Ends the job.
  subroutine piodie(file, line, msg, ival1, msg2, ival2, msg3, ival3, mpirank)
    character(len=*), intent(in) :: file
    integer, intent(in) :: line
    character(len=*), optional, intent(in) :: msg, msg2, msg3
    integer, optional, intent(in) :: ival1, ival2, ival3, mpirank
    character(len=:), allocatable :: text
    text = trim(file)
    call add(text, number=line)
    call add(text, msg, ival1)
    call add(text, msg2, ival2)
    call add(text, msg3, ival3)
    if (present(mpirank)) call add(text, 'rank', mpirank)
    call blobio_pio_die(text_of_c(text), 0)
  end subroutine piodie

  subroutine add(text, msg, number)
    character(len=:), allocatable, intent(inout) :: text
    character(len=*), optional, intent(in) :: msg
    integer, optional, intent(in) :: number
    character(len=16) :: digits
    if (present(msg)) text = text // ' ' // trim(msg)
    if (.not. present(number)) return
    write (digits, '(i0)') number
    text = text // ' ' // trim(digits)
  end subroutine add

  ! Ends the job if an MPI call has failed.
  subroutine checkmpireturn(locmesg, errcode, file, line)
    character(len=*), intent(in) :: locmesg
    integer(i4), intent(in) :: errcode
    character(len=*), optional, intent(in) :: file
    integer, optional, intent(in) :: line
    character(len=:), allocatable :: text
    if (errcode == 0) return
    text = trim(locmesg)
    call add(text, file, line)
    call blobio_pio_die(text_of_c(text), errcode)
  end subroutine checkmpireturn

  ! Replaces everything from the first NUL on, or from position ilen on, by blanks.
  subroutine replace_c_null(istr, ilen)
    character(len=*), intent(inout) :: istr
    integer(PIO_OFFSET_KIND), optional, intent(in) :: ilen
    integer :: i
    i = index(istr, c_null_char)
    if (present(ilen)) i = merge(min(i, int(ilen)), int(ilen), i > 0)
    if (i > 0 .and. i <= len(istr)) istr(i:) = ' '
  end subroutine replace_c_null
end module pio_support

! PIO files through functions of netCDF. All these functions return an error.
module ncint_mod
  use, intrinsic :: iso_c_binding
  use pio_kinds
  use pio_types, only: pio_rearr_opt_t
  implicit none
  private
  public :: nf_def_iosystem, nf_free_iosystem, nf_def_decomp, nf_free_decomp, nf_put_vard_int

  integer, public, parameter :: NF_PIO = 64

  interface
    function nc_free_iosystem(iosysid) result(rc) bind(c)
      import
      integer(c_int), value :: iosysid
      integer(c_int) :: rc
    end function nc_free_iosystem
  end interface

contains

  integer function nf_def_iosystem(comp_rank, comp_comm, num_iotasks, num_aggregator, stride, rearr, iosysid, base, rearr_opts) &
      result(ierr)
    integer(i4), intent(in) :: comp_rank, num_iotasks, num_aggregator, stride, rearr
    type(*), intent(in) :: comp_comm
    integer(i4), intent(out) :: iosysid
    integer(i4), optional, intent(in) :: base
    type(pio_rearr_opt_t), optional, intent(in) :: rearr_opts
    iosysid = -1
    ierr = nc_free_iosystem(iosysid)
  end function nf_def_iosystem

  integer function nf_free_iosystem() result(ierr)
    ierr = nc_free_iosystem(-1)
  end function nf_free_iosystem

  integer function nf_def_decomp(iosysid, basepiotype, dims, compdof, decompid, rearr, iostart, iocount) result(ierr)
    integer(i4), intent(in) :: iosysid, basepiotype, dims(:)
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:)
    integer(i4), intent(out) :: decompid
    integer, optional, intent(in) :: rearr
    integer(PIO_OFFSET_KIND), optional, intent(in) :: iostart(:), iocount(:)
    decompid = -1
    ierr = nc_free_iosystem(iosysid)
  end function nf_def_decomp

  integer function nf_free_decomp(decompid) result(ierr)
    integer, intent(in) :: decompid
    ierr = nc_free_iosystem(decompid)
  end function nf_free_decomp

  integer function nf_put_vard_int(ncid, varid, decompid, recnum, ivals) result(ierr)
    integer, intent(in) :: ncid, varid, decompid, recnum, ivals(*)
    ierr = nc_free_iosystem(ncid)
  end function nf_put_vard_int
end module ncint_mod
