package versions

// What the tests see beside the face.
var Below = below
var Slabs = slabs
