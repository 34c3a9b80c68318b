// The mutation run of .ci/run, apart from the module: nothing of the product needs it.
module blobio/mutate

go 1.26.0
