! Uses stores and versioned arrays through the module, in one process or in the ranks of a job. Argument: an empty
! directory.
program keep
  use, intrinsic :: iso_c_binding
  use blobio
#ifdef WITH_MPI
  use mpi
#endif
  implicit none
  type(blobio_store) :: s
  type(blobio_array) :: a
  real(c_double), target :: x(100)
  real(c_double) :: row(4), back(4)
  real(c_double), allocatable :: whole(:)
  integer, allocatable :: comm ! not allocated without MPI, so that the argument is absent
  integer :: rank = 0, ranks = 1, next
  integer :: got, n, ids(4), t, ndims
  integer(c_int64_t) :: v, bytes, lengths(2), newest, versions(5)
  logical :: tainted(5)
  character(len=400) :: dir

#ifdef WITH_MPI
  call MPI_Init(n)
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank, n)
  call MPI_Comm_size(comm, ranks, n)
#endif
  next = mod(rank + 1, ranks)
  call get_command_argument(1, dir)
  call ok(blobio_store_open(trim(dir) // "/store", s, "keep=2", comm), "open")
  call ok(blobio_store_protect(s, 1, c_loc(x), 800_c_int64_t), "protect")
  x = 1 + rank
  call ok(blobio_store_checkpoint(s, 1), "checkpoint")
  x(7) = -2 - rank
  call ok(blobio_store_checkpoint(s, 2, diff=.true.), "diff")
  x = 0
  call ok(blobio_store_recover(s, got), "recover")
  if (got /= 2 .or. x(7) /= -2 - rank .or. x(8) /= 1 + rank) stop 1
  call ok(blobio_store_recover(s, got, id=1), "recover 1")
  if (got /= 1 .or. x(7) /= 1 + rank) stop 2
  call ok(blobio_store_list(s, ids, n), "list")
  if (n /= 2 .or. ids(2) /= 2) stop 3
  call ok(blobio_store_inq_size(s, 1, 1, bytes), "size")
  if (bytes /= 800) stop 4
  call ok(blobio_store_close(s), "close")
  if (blobio_store_close(s) /= blobio_ehandle) stop 5

  ! The array has 4 x (2 ranks + 1) elements. A row in C is a column here. Each rank puts the columns with its number, and
  ! reads the columns of the next rank.
  allocate (whole(4 * (2 * ranks + 1)))
  call ok(blobio_array_create(dir, "rho", blobio_double, [4, 2 * ranks + 1], a, comm=comm), "create")
  row = 10 * rank + [1d0, 2d0, 3d0, 4d0]
  call ok(blobio_array_put(a, [1, 2 * rank + 2], [4, 1], row), "put")
  call ok(blobio_array_fence(a), "fence")
  call ok(blobio_array_increment(a, v, "first"), "increment")
  if (v /= 1) stop 6
  call ok(blobio_array_put(a, [1, 2 * rank + 2], [4, 1], -row), "put")
  call ok(blobio_array_increment(a, v), "increment")
  row = row + 10 * (next - rank)
  call ok(blobio_array_get(a, [1, 2 * next + 2], [4, 1], back, version=1_c_int64_t), "get at")
  if (any(back /= row)) stop 7
  call ok(blobio_array_get(a, [1, 1], [4, 2 * ranks + 1], whole), "get")
  if (any(whole(1:4) /= 0) .or. any(whole(8*next+5:8*next+8) /= -row)) stop 8
  if (blobio_array_get(a, [1], [4], back) /= blobio_einval) stop 9
  call ok(blobio_array_taint(a, [2_c_int64_t]), "taint")
  call ok(blobio_array_restore(a, 1_c_int64_t), "restore")
  if (blobio_array_restore(a, int(merge(9, 1, rank == ranks - 1), c_int64_t)) == blobio_ok) stop 13 ! all ranks must fail together
  call ok(blobio_array_close(a), "close")
  call ok(blobio_array_open(dir, "rho", a, comm=comm), "open")
  call ok(blobio_array_get(a, [1, 2 * next + 2], [4, 1], back), "get")
  if (any(back /= row)) stop 10
  call ok(blobio_array_list(a, versions, tainted, n), "list")
  if (n /= 3 .or. versions(3) /= 2 .or. .not. tainted(3) .or. tainted(2)) stop 11
  call ok(blobio_array_inq(a, t, ndims, lengths, newest), "inq")
  if (t /= blobio_double .or. ndims /= 2 .or. lengths(1) /= 4 .or. lengths(2) /= 2 * ranks + 1 .or. newest /= 1) stop 12
  call ok(blobio_array_close(a), "close")
#ifdef WITH_MPI
  call MPI_Finalize(n)
#endif

contains

  subroutine ok(rc, what)
    integer, intent(in) :: rc
    character(len=*), intent(in) :: what
    if (rc == blobio_ok) return
    print *, what, rc, blobio_last_error()
    stop 20
  end subroutine ok

end program keep
