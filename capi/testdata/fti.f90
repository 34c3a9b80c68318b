! fti CONFIG EXPECT LAST: restarts from step EXPECT (0 means no restart) and takes checkpoints up to LAST. It ends without
! FTI_Finalize unless LAST is 6.
program main
  use, intrinsic :: iso_c_binding
  use fti
  implicit none
  include 'mpif.h'

  integer, target :: step
  real(8), pointer :: field(:,:)
  complex, pointer :: z(:)
  character(len=512) :: config, arg
  integer :: expect, last, err, status, comm, rank, ranks, id, again, tid, i, bad, level
  integer(8) :: bytes
  integer, pointer :: p

  call get_command_argument(1, config)
  call get_command_argument(2, arg); read (arg, *) expect
  call get_command_argument(3, arg); read (arg, *) last
  bad = 0
  call MPI_Init(err)
  comm = MPI_COMM_WORLD
  call FTI_Init(config, comm, err)
  call want('FTI_Init', err == FTI_SCES)
  call MPI_Comm_rank(comm, rank, err)
  call MPI_Comm_size(comm, ranks, err)
  allocate (field(30, -1:20), z(7))
  step = 0
  field = rank
  z = (1.0, 2.0)
  p => step
  call FTI_Protect(0, p, err)
  call want('a number', err == FTI_SCES)
  call FTI_Protect(1, field, err)
  call want('a field', err == FTI_SCES)
  call FTI_setIDFromString('z', id)
  call FTI_getIDFromString('z  ', again)
  call want('names', id == 2 .and. again == id)
  call FTI_Protect(id, z, err)
  call want('complex numbers', err == FTI_SCES)
  tid = FTI_InitType(24_c_size_t)
  call FTI_Protect(3, c_loc(field), 5, tid, err)
  call want('an address', err == FTI_SCES)
  call FTI_Protect(4, field(:, 3:20:2), err)
  call want('an array with gaps', err /= FTI_SCES)
  call want('composite types', FTI_InitCompositeType('c', 8_c_size_t) == FTI_NSCS)
  call FTI_Status(status)
  call want('status', merge(1, 0, status /= 0) == merge(1, 0, expect > 0))
  if (status /= 0) then
    call FTI_GetStoredSize(1, bytes)
    call want('stored size', bytes == 30*22*8)
    if (mod(expect, 2) == 0) then
      call FTI_Recover(err)
      call want('FTI_Recover', err == FTI_SCES)
    else
      call FTI_RecoverVarInit(err)
      do i = 0, 3
        call FTI_RecoverVar(i, err)
        call want('FTI_RecoverVar', err == FTI_SCES)
      end do
      call FTI_RecoverVarFinalize(err)
    end if
  end if
  call want('the step', step == expect)
  call want('the field', all(field == rank + expect))
  call want('complex', all(z == cmplx(1 + expect, 2)))
  do while (step < last)
    step = step + 1
    field = field + 1
    z = z + 1
    level = mod(step, 4) + 1
    if (mod(step, 3) == 0) then
      call FTI_Checkpoint(step, level, err)
      call want('FTI_Checkpoint', err == 1)
    else
      call FTI_InitICP(step, level, .true., err)
      do i = 3, 0, -1
        call FTI_AddVarICP(i, err)
        call want('FTI_AddVarICP', err == FTI_SCES)
      end do
      call FTI_FinalizeICP(err)
      call want('FTI_FinalizeICP', err == FTI_SCES)
    end if
  end do
  if (last == 6) then
    call FTI_Finalize(err)
    call want('FTI_Finalize', err == FTI_SCES)
  end if
  call MPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
  if (rank == 0 .and. bad == 0) print *, 'good'
  call MPI_Finalize(err)
  if (bad > 0) stop 1

contains
  subroutine want(what, yes)
    character(len=*), intent(in) :: what
    logical, intent(in) :: yes
    if (yes) return
    print *, 'wrong: ', what, err
    bad = 1
  end subroutine want
end program main
