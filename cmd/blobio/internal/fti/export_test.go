package fti

// Exported for the tests.
var FFLayouts = ffLayouts
var OpenFF = openFF
var OpenFFReader = openFFReader
