/* For a library without MPI: argv[1] is a dataset to create, argv[2] the expected code. Prints the last error. */
#include <stdio.h>
#include <stdlib.h>

#include "blobio.h"

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	blobio_file *f = NULL;
	int rc = blobio_create(argv[1], NULL, &f);
	printf("%s\n", blobio_last_error());
	if (rc == BLOBIO_OK)
		rc = blobio_abort(f);
	return rc != atoi(argv[2]);
}
