#c
@problemName p
@timeStamps false
@dimensions 2
@equalLength true
@classLabel true a b
@data
1,2:3,?:a
4,5:6,7:b
