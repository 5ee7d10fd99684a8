package around

var eu string
var us string
