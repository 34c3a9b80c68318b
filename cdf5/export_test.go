package cdf5

// HeaderOrder is for tests.
var HeaderOrder = headerOrder
