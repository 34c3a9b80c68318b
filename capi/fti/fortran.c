// C functions for the module in fti.f90: communicators, and variables of any type and rank.

#include <ISO_Fortran_binding.h>

#include "fti.h"

#include "blobio.h"

// Called from Fortran only.
int blobio_fti_init(const char *config, int *comm);
int blobio_fti_protect(int id, CFI_cdesc_t *data);
int blobio_fti_refuse(const char *call);
int blobio_fti_wrong(int code, const char *call, const char *text); // of fti.c

int blobio_fti_init(const char *config, int *comm) {
	int rc = FTI_Init(config, MPI_Comm_f2c(*comm));
	if (rc == FTI_SCES || rc == FTI_NREC)
		*comm = MPI_Comm_c2f(FTI_COMM_WORLD);
	return rc;
}

int blobio_fti_protect(int id, CFI_cdesc_t *data) {
	int64_t bytes = (int64_t)data->elem_len;
	for (int i = 0; i < data->rank; i++)
		bytes *= data->dim[i].extent;
	if (bytes > 0 && data->rank > 0 && !CFI_is_contiguous(data))
		return blobio_fti_wrong(BLOBIO_EINVAL, "FTI_Protect", "the array is not contiguous");
	return FTI_Protect(id, data->base_addr, bytes, FTI_CHAR);
}

int blobio_fti_refuse(const char *call) {
	return blobio_fti_wrong(BLOBIO_EUNSUPPORTED, call, "composite types and attributes of HDF5 datasets are not supported: see docs/guide-from-fti.md");
}
