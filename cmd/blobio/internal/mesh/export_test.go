package mesh

// What the tests see beside the face.
const MostOfKind = mostOfKind
