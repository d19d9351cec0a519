@univariate true
@targetLabel true
@data
1,2,3:0.5
4:1
