// The mutation run of .ci/run mutate, apart from the module: nothing of the product needs it.
module blobio/extra/mutate

go 1.26.0
