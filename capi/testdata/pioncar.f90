! Checks the behaviour of files that differs with PIO_NCAR. Argument: an empty directory.
program pioncar
  use mpi
  use pio
  implicit none
  type(iosystem_desc_t) :: ios
  type(file_desc_t) :: f
  character(len=4096) :: name
  type(var_desc_t) :: v
  integer :: rank, rc, n
  integer, pointer :: dims(:)
  integer(pio_offset_kind), pointer :: map(:)
  call MPI_Init(rc)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, rc)
  call get_command_argument(1, name)
  name = trim(name) // '/a.nc'
  call pio_init(rank, MPI_COMM_WORLD, 1, 0, 1, PIO_REARR_BOX, ios)
  call pio_seterrorhandling(ios, PIO_RETURN_ERROR)
  call want(0, pio_createfile(ios, f, PIO_IOTYPE_NETCDF4C, name, amode_in=PIO_CLOBBER))
  call want(0, pio_redef(f))
  call pio_closefile(f)
  call want(0, pio_openfile(ios, f, PIO_IOTYPE_NETCDF4P, name, mode=PIO_WRITE))
  call want(0, pio_redef(f))
  call want(0, pio_redef(f))
  call pio_closefile(f)
  call want(0, pio_openfile(ios, f, PIO_IOTYPE_PNETCDF, name, mode=PIO_WRITE))
  call want(0, pio_redef(f))
  call want(-39, pio_redef(f))
  call want(0, pio_def_dim(f, name='x', len=3, dimid=n))
  call want(0, pio_inquire_dimension(f%fh, 1, len=n))
  call want(3, n)
  call want(0, pio_def_var(f, 'v', PIO_int, vardesc=v))
  call want(0, pio_put_att(f, vardesc=v, name='a', values=7))
  call want(0, pio_enddef(f))
  call want(0, pio_inq_varid(f, name='v', vardesc=v))
  call want(0, pio_get_att(f, vardesc=v, name='a', values=n))
  call want(7, n)
  call want(0, pio_put_var(f, vardesc=v, ival=5))
  call want(0, pio_get_var(f, vardesc=v, ival=n))
  call want(5, n)
  call pio_closefile(f)
  call pio_writedof(trim(name) // 'map', [2, 3], [1_pio_offset_kind], MPI_COMM_WORLD)
  call pio_readdof(trim(name) // 'map', n, dims, map, MPI_COMM_WORLD)
  call want(2, dims(1))
  call pio_finalize(ios, rc)
  call MPI_Finalize(rc)
  if (rank == 0) print '(a)', 'good'
contains
  subroutine want(code, got)
    integer, intent(in) :: code, got
    if (got == code) return
    print '(3(a, i0))', 'rank ', rank, ': code ', got, ', want ', code
    error stop
  end subroutine want
end program pioncar
