! MPI ranks read together, and one rank passes an array of a different size. All ranks must get an error.
! Argument: a directory.
program joint
  use, intrinsic :: iso_c_binding
  use blobio
  use mpi
  implicit none
  type(blobio_file) :: f
  character(len=1024) :: dir
  integer :: rank, ranks, ierr, failures = 0, all_failures, d, m, v, n, rc
  integer(c_int64_t) :: dof(12)
  integer(4) :: i4(12)
  real(8) :: r8(12)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, dir)
  dof = [(12 * rank + n, n = 1, 12)]
  i4 = int(dof)
  call ok(blobio_create(trim(dir) // '/d', f, '', MPI_COMM_WORLD), 'create')
  call ok(blobio_def_dim(f, 'n', 12 * ranks, d), 'dim')
  call ok(blobio_def_decomp(f, [d], dof, m), 'decomposition')
  call ok(blobio_def_var(f, 'v', blobio_int, [d], v, m), 'var')
  call ok(blobio_enddef(f), 'enddef')
  call ok(blobio_put(f, v, i4), 'put')
  call ok(blobio_close(f), 'close')

  call ok(blobio_open(trim(dir) // '/d', f, 'collective=yes', MPI_COMM_WORLD), 'open')
  dof = [(12 * ranks - 12 * rank + 1 - n, n = 1, 12)]
  n = merge(11, 12, rank == ranks - 1)
  rc = blobio_get_darray(f, v, dof, r8(:n), collective=.true.)
  call yes(rc == blobio_einval, 'code of a wrong size')
  if (n == 11) call yes(index(blobio_last_error(), 'values has 11 elements, want as many as compdof, 12') > 0, blobio_last_error())
  call ok(blobio_get_darray(f, v, dof, r8, collective=.true.), 'get')
  call yes(all(r8 == dof), 'what is read')
  call ok(blobio_close(f), 'close')

  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (all_failures > 0) stop 1

contains

  subroutine ok(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    call yes(code == blobio_ok, what // ': ' // blobio_last_error())
  end subroutine ok

  subroutine yes(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    print '(a, i0, 2a)', 'rank ', rank, ': not right: ', what
  end subroutine yes
end program joint
